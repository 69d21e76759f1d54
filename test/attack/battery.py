# The beginning of a battery of attacks, after the prelude. Each attack raises the error that
# stopped it, or returns if it succeeded.
FIRST = 1    # the first process, which runs as another user


class Held(Exception):
    """The attack ended without success."""


def call(name, *args):
    """Makes a system call and raises its error."""
    result = syscall(name, *args)
    if result < 0:
        raise OSError(-result, os.strerror(-result))
    return result


def absent(path):
    """Raises the error of lstat on a path."""
    os.lstat(path)
    return path


def outcome(attempt):
    try:
        return 'succeeded: %.200r' % (attempt(),)
    except Held:
        return 'held'
    except TimeoutError as e:
        return errno.errorcode.get(e.errno, 'ETIMEDOUT')
    except OSError as e:
        return errno.errorcode.get(e.errno, 'broken: %.300r' % e)
    except BaseException as e:
        return 'broken: %.300r' % e


def trial(name, attempt):
    """Makes an attack in a child process and prints its outcome."""
    r, w = os.pipe()
    pid = os.fork()
    if pid == 0:
        os.close(r)
        signal.alarm(10)
        os.write(w, outcome(attempt).encode())
        os._exit(0)
    os.close(w)
    text = os.read(r, 1000).decode()
    os.close(r)
    status = os.waitpid(pid, 0)[1]
    if os.WIFSIGNALED(status):
        text = signal.Signals(os.WTERMSIG(status)).name
    print(name, text.replace('\n', ' '), sep='\t', flush=True)


NR.update({name: x86 if X86 else arm for name, x86, arm in [
    ('name_to_handle_at', 303, 264), ('io_setup', 206, 0), ('nfsservctl', 180, 42), ('fanotify_mark', 301, 263),
    ('mbind', 237, 235), ('set_mempolicy', 238, 237), ('get_mempolicy', 239, 236), ('set_mempolicy_home_node', 450, 450),
    ('kcmp', 312, 272), ('create_module', 174, -1), ('query_module', 178, -1), ('get_kernel_syms', 177, -1),
    ('sysfs', 139, -1), ('_sysctl', 156, -1), ('uselib', 134, -1), ('ustat', 136, -1), ('fsconfig', 431, 431),
    ('ioprio_set', 251, 30), ('capset', 126, 91), ('socket', 41, 198), ('socketpair', 53, 199), ('splice', 275, 76), ('fsopen', 430, 430),
    ('restart_syscall', 219, 128), ('open_tree_attr', 467, 467), ('file_setattr', 469, 469), ('statmount', 457, 457),
    ('listmount', 458, 458), ('lsm_get_self_attr', 459, 459), ('lsm_set_self_attr', 460, 460), ('lsm_list_modules', 461, 461),
    ('map_shadow_stack', 453, 453), ('uretprobe', 335, -1), ('memfd_secret', 447, 447), ('modify_ldt', 154, -1),
    ('seccomp', 317, 277), ('prctl', 157, 167), ('openat2', 437, 437), ('listns', 470, 470),
]})
