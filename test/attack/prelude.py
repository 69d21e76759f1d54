# The beginning of every attack. An attack calls got(...) for each success that a sandbox must
# prevent; a sandbox holds if no attack calls it.
import ctypes, errno, mmap, os, platform, signal, socket, stat, struct, subprocess, sys, threading, time

libc = ctypes.CDLL(None, use_errno=True)
X86 = platform.machine() == 'x86_64'

NR = {name: x86 if X86 else arm for name, x86, arm in [
    ('clone', 56, 220), ('ptrace', 101, 117), ('syslog', 103, 116), ('personality', 135, 92),
    ('vhangup', 153, 58), ('pivot_root', 155, 41), ('chroot', 161, 51), ('acct', 163, 89),
    ('settimeofday', 164, 170), ('mount', 165, 40), ('umount2', 166, 39), ('swapon', 167, 224),
    ('swapoff', 168, 225), ('reboot', 169, 142), ('sethostname', 170, 161), ('setdomainname', 171, 162),
    ('iopl', 172, -1), ('ioperm', 173, -1), ('init_module', 175, 105), ('delete_module', 176, 106),
    ('quotactl', 179, 60), ('lookup_dcookie', 212, 18), ('clock_settime', 227, 112), ('kexec_load', 246, 104),
    ('add_key', 248, 217), ('request_key', 249, 218), ('keyctl', 250, 219), ('migrate_pages', 256, 238),
    ('unshare', 272, 97), ('move_pages', 279, 239), ('perf_event_open', 298, 241), ('fanotify_init', 300, 262),
    ('open_by_handle_at', 304, 265), ('clock_adjtime', 305, 266), ('setns', 308, 268), ('process_vm_readv', 310, 270),
    ('process_vm_writev', 311, 271), ('finit_module', 313, 273), ('kexec_file_load', 320, 294), ('bpf', 321, 280),
    ('userfaultfd', 323, 282), ('pidfd_send_signal', 424, 424), ('io_uring_setup', 425, 425),
    ('io_uring_enter', 426, 426), ('io_uring_register', 427, 427), ('open_tree', 428, 428), ('move_mount', 429, 429),
    ('fsopen', 430, 430), ('fsmount', 432, 432), ('fspick', 433, 433), ('pidfd_open', 434, 434), ('clone3', 435, 435),
    ('pidfd_getfd', 438, 438), ('process_madvise', 440, 440), ('mount_setattr', 442, 442), ('quotactl_fd', 443, 443),
]}

# The errors of a system call that never reached the kernel's own code.
REFUSED = (errno.EPERM, errno.ENOSYS, errno.EACCES)


def got(*what):
    print('got', *what, flush=True)


def syscall(name, *args):
    """Makes a system call and returns its result, or minus the error's number."""
    nr = name if isinstance(name, int) else NR[name]
    ctypes.set_errno(0)
    result = libc.syscall(ctypes.c_long(nr), *[ctypes.c_long(a) if isinstance(a, int) else a for a in args])
    return result if result >= 0 else -ctypes.get_errno()


def refused(name, *args, why=REFUSED):
    """Tries a call that must be refused for one of these reasons: any other means that
    the kernel has read its arguments."""
    result = syscall(name, *args)
    if result >= 0:
        got(name, 'returned', result)
    elif -result not in why:
        got(name, 'reached the kernel:', errno.errorcode[-result])


def fails(what, do):
    """Calls do, which must raise an OSError."""
    try:
        result = do()
    except OSError:
        return
    got(what, result)


def write(path, text):
    """Writes without a buffer, so that the caller can catch an error."""
    fd = os.open(path, os.O_WRONLY)
    try:
        return os.write(fd, text.encode())
    finally:
        os.close(fd)


def in_child(do):
    """Calls do in a child process and returns the status of os.waitpid."""
    pid = os.fork()
    if pid == 0:
        try:
            do()
        finally:
            os._exit(0)
    return os.waitpid(pid, 0)[1]
