# The beginning of every hoard. Many processes call fill() at once; each takes as much of a resource
# as it can, and keeps it.
import fcntl, resource, select, struct as st
resource.setrlimit(resource.RLIMIT_NOFILE, (resource.getrlimit(resource.RLIMIT_NOFILE)[1],) * 2)
kept = []


def keep(make, most=1 << 30):
    """Makes objects one after the other and keeps them, until that fails."""
    for _ in range(most):
        try: kept.append(make())
        except OSError as e: return e.errno
        except MemoryError: return errno.ENOMEM


def hoard(fill, seconds, processes=48):
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    for n in range(processes):
        try: pid = os.fork()
        except OSError: break
        if pid == 0:
            try: fill(n)
            except (OSError, MemoryError): pass
            while True: signal.pause()
    time.sleep(seconds)
    print('full', flush=True)
    time.sleep(60)


def stuff(send, piece=b'x' * 4096):
    """Sends until the buffer is full."""
    while True:
        try: send(piece)
        except OSError as e:
            if len(piece) == 1: return
            piece = piece[:len(piece) // 2] if e.errno in (errno.EAGAIN, errno.ENOBUFS, errno.EMSGSIZE) else b'x'


def connected(kind, family=socket.AF_INET):
    server = socket.socket(family, kind)
    server.bind(('127.0.0.1' if family == socket.AF_INET else '::1', 0))
    return server, server.getsockname()
