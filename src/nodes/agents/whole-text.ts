/**
 * The same plain data without halves of characters, as texts end in that were cut. No program that wants UTF-8 can read those: some
 * agents do not hear the message that they are in, and whoever waits for the answer would wait for ever.
 */
export function wholeText<Value>(value: Value): Value {
  const whole = (_name: string, one: unknown): unknown => (typeof one === 'string' ? one.toWellFormed() : one)
  return JSON.parse(JSON.stringify(value, whole)) as Value
}
