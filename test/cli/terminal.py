"""Runs a command in a terminal of its own: terminal.py COLUMNS ROWS SCRIPT COMMAND…

SCRIPT is JSON, a list of [text to wait for, keys to send]. Everything that the terminal showed goes to stdout as it is,
and this ends with the command's exit code. Key "SIGINT" and the like are sent as signals to the command instead.
"""
import fcntl, json, os, pty, select, signal, struct, sys, termios, time

columns, rows, script = int(sys.argv[1]), int(sys.argv[2]), json.loads(sys.argv[3])
pid, terminal = pty.fork()
if pid == 0:
    os.execvp(sys.argv[4], sys.argv[4:])
fcntl.ioctl(terminal, termios.TIOCSWINSZ, struct.pack('HHHH', rows, columns, 0, 0))
seen, since, deadline = '', 0, time.time() + 25
while time.time() < deadline:
    ready, _, _ = select.select([terminal], [], [], 0.05)
    if ready:
        try:
            data = os.read(terminal, 65536)
        except OSError:
            break
        if not data:
            break
        sys.stdout.buffer.write(data)
        sys.stdout.flush()
        seen += data.decode('utf-8', 'replace')
    if script and script[0][0] in seen[since:]:
        since = len(seen)
        keys = script.pop(0)[1]
        if keys.startswith('SIG'):
            os.kill(pid, getattr(signal, keys))
        else:
            os.write(terminal, keys.encode())
else:
    os.kill(pid, signal.SIGKILL)
_, status = os.waitpid(pid, 0)
sys.exit(os.waitstatus_to_exitcode(status) & 127)
