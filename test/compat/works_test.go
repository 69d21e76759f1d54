package compat

func pythonWorks() []work {
	return []work{
		{
			name: "pip",
			script: `
mkdir -p demo/answers index/simple/answers
cat > demo/setup.py <<'END'
from setuptools import setup
setup(name="answers", version="1.0", packages=["answers"])
END
echo 'def answer(): return 42' > demo/answers/__init__.py
PIP="/usr/bin/python3 -m pip --disable-pip-version-check -q"
$PIP wheel --no-build-isolation --no-deps -w index/simple/answers ./demo
# From an index, by HTTP, on the sandbox's own loopback.
/usr/bin/python3 -m http.server 8123 --bind 127.0.0.1 --directory index >/dev/null 2>&1 &
trap 'kill %1' EXIT
for n in $(seq 200); do /usr/bin/python3 -c 'import socket; socket.create_connection(("127.0.0.1", 8123))' 2>/dev/null && break; sleep 0.1; done
$PIP install --no-cache-dir --index-url http://127.0.0.1:8123/simple --target lib answers
PYTHONPATH=lib /usr/bin/python3 -c 'import answers; print(answers.answer())'
`, want: "42\n",
		},
		{
			name: "multiprocessing",
			script: `
cat > work.py <<'END'
import multiprocessing as mp, concurrent.futures, multiprocessing.shared_memory as shm
def square(n): return n * n
if __name__ == '__main__':
    for method in ('fork', 'spawn', 'forkserver'):
        with mp.get_context(method).Pool(3) as pool: assert sum(pool.map(square, range(50))) == 40425, method
    with concurrent.futures.ProcessPoolExecutor(2) as pool: assert list(pool.map(square, [3])) == [9]
    queue, lock, value = mp.Queue(), mp.Lock(), mp.Value('i', 0)
    block = shm.SharedMemory(create=True, size=1000); block.close(); block.unlink()
    queue.put(mp.cpu_count() > 0); print(queue.get())
END
/usr/bin/python3 work.py
`, want: "True\n",
		},
		{
			name: "asyncio",
			script: `
cat > work.py <<'END'
import asyncio, signal, threading, tempfile, mmap, fcntl, os, pty, select
async def echo(reader, writer):
    writer.write(await reader.readline()); await writer.drain(); writer.close()
async def main():
    loop = asyncio.get_running_loop()
    hit = asyncio.Event(); loop.add_signal_handler(signal.SIGUSR1, hit.set); os.kill(os.getpid(), signal.SIGUSR1); await hit.wait()
    for start, connect in ((asyncio.start_server(echo, '127.0.0.1', 8124), lambda: asyncio.open_connection('127.0.0.1', 8124)),
                           (asyncio.start_unix_server(echo, 'socket'), lambda: asyncio.open_unix_connection('socket'))):
        server = await start
        reader, writer = await connect(); writer.write(b'hello\n'); assert await reader.readline() == b'hello\n'; server.close()
    child = await asyncio.create_subprocess_shell('cat', stdin=-1, stdout=-1)
    assert (await child.communicate(b'x'))[0] == b'x'
    assert await asyncio.to_thread(lambda: 1) == 1
    with tempfile.NamedTemporaryFile() as f:
        f.truncate(1 << 20); mmap.mmap(f.fileno(), 0)[0:1] = b'x'; fcntl.lockf(f, fcntl.LOCK_EX); fcntl.flock(f, fcntl.LOCK_EX)
    def terminal():
        assert os.isatty(0); os.write(1, b'tty')
    pid, fd = pty.fork()
    if pid == 0: terminal(); os._exit(0)
    assert os.read(fd, 10) == b'tty'; os.waitpid(pid, 0)
    print('done')
asyncio.run(main())
END
/usr/bin/python3 -X dev work.py 2>errors
`, want: "done\n",
		},
		{
			name: "connections",
			script: `
cat > work.py <<'END'
import asyncio, os
async def serve(reader, writer):
    try:
        while line := await reader.readline(): writer.write(line * 20); await writer.drain()
    finally: writer.close()
async def ask(address, times):
    reader, writer = await asyncio.open_connection(*address)
    for n in range(times):
        writer.write(b'%d ' % n + b'x' * 1000 + b'\n')
        for _ in range(20): assert (await reader.readline()).startswith(b'%d ' % n)
    writer.close(); await writer.wait_closed()
async def bulk(address, size):
    reader, writer = await asyncio.open_connection(*address)
    for _ in range(size >> 20): writer.write(bytes(1 << 20)); await writer.drain()
    writer.close(); await writer.wait_closed()
async def swallow(reader, writer):
    while await reader.read(1 << 20): pass
    writer.close()
async def main():
    async with await asyncio.start_server(serve, '127.0.0.1', 0, backlog=100) as server, await asyncio.start_server(swallow, '127.0.0.1', 0) as sink:
        at, to = server.sockets[0].getsockname(), sink.sockets[0].getsockname()
        await asyncio.gather(*(ask(at, 20) for _ in range(200)))
        for _ in range(500): await ask(at, 1)
        await bulk(to, 256 << 20)
        print('served')
asyncio.run(main())
END
/usr/bin/python3 work.py
`, want: "served\n",
		},
		{
			name: "postgresql",
			script: `
bin=$(ls -d /usr/lib/postgresql/*/bin | tail -1)
$bin/initdb -D data -U me -A trust >/dev/null
$bin/pg_ctl -D data -w -l log -o '-k /tmp -p 5455 -c fsync=off' start >/dev/null
trap "$bin/pg_ctl -D data -m immediate stop >/dev/null" EXIT
$bin/pgbench -h 127.0.0.1 -p 5455 -U me -i -q postgres >/dev/null 2>&1
$bin/pgbench -h 127.0.0.1 -p 5455 -U me -n -c 40 -j 2 -t 10 postgres | sed -n 's/number of transactions actually processed: //p'
$bin/psql -h /tmp -p 5455 -U me -Atc 'select count(*) from pgbench_history' postgres
`, want: "400/400\n400\n",
		},
		{
			name: "sqlite",
			script: `
cat > work.py <<'END'
import sqlite3
for mode in ('wal', 'delete', 'memory'):
    db = sqlite3.connect('db-' + mode); assert db.execute('pragma journal_mode=' + mode).fetchone()[0] == mode
    db.execute('create table t (a)'); db.executemany('insert into t values (?)', [(n,) for n in range(1000)]); db.commit()
    other = sqlite3.connect('db-' + mode)
    print(other.execute('select sum(a) from t').fetchone()[0])
END
/usr/bin/python3 work.py
`, want: "499500\n",
		},
	}
}

func nodeWorks() []work {
	return []work{
		{
			name: "npm",
			script: `
npm() { node "$NPM/bin/npm-cli.js" --offline --no-audit --no-fund --loglevel=error "$@"; }
mkdir lib app
cat > lib/package.json <<'END'
{"name": "answers", "version": "1.0.0", "main": "main.js", "scripts": {"postinstall": "node -e \"require('fs').writeFileSync('ran', '')\""}}
END
echo 'exports.answer = () => 42' > lib/main.js
(cd lib && npm pack --pack-destination .. >/dev/null)
cd app
cat > package.json <<'END'
{"name": "app", "version": "1.0.0", "scripts": {"start": "node -p \"require('answers').answer()\""}}
END
npm install ../answers-1.0.0.tgz >/dev/null
test -f node_modules/answers/ran # its install script did
npm --silent start
`, want: "42\n",
		},
		{
			name: "node",
			script: `
cat > work.mjs <<'END'
import { Worker, isMainThread, parentPort } from 'node:worker_threads'
import { execFileSync, spawn } from 'node:child_process'
import http from 'node:http'
import fs from 'node:fs'
import zlib from 'node:zlib'
import crypto from 'node:crypto'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
if (!isMainThread) {
  parentPort.postMessage(6 * 7)
} else {
  const worker = new Worker(fileURLToPath(import.meta.url))
  const [answer] = await once(worker, 'message')
  if (execFileSync('echo', ['x']).toString() !== 'x\n') throw new Error('child')
  const watcher = fs.watch('.'); const changed = once(watcher, 'change'); fs.writeFileSync('f', 'x'); await changed; watcher.close()
  const server = http.createServer((_, response) => response.end('hello')).listen(0, '127.0.0.1'); await once(server, 'listening')
  if (await (await fetch('http://127.0.0.1:' + server.address().port)).text() !== 'hello') throw new Error('http')
  server.closeAllConnections(); server.close()
  zlib.gunzipSync(zlib.gzipSync('x')); crypto.generateKeyPairSync('ec', { namedCurve: 'P-256' })
  await fs.promises.rm('f')
  const wasm = new WebAssembly.Module(Uint8Array.of(0, 97, 115, 109, 1, 0, 0, 0)); new WebAssembly.Instance(wasm)
  await once(spawn('true'), 'exit')
  console.log(answer)
}
END
node work.mjs
`, want: "42\n",
		},
	}
}

func compilerWorks() []work {
	return []work{
		{
			name: "go build",
			script: `
export GOCACHE=/tmp/go GOPATH=/tmp/gopath GOPROXY=off GOTOOLCHAIN=local GOFLAGS=-mod=mod CGO_ENABLED=0
cat > go.mod <<'END'
module example.com/app
go 1.20
END
mkdir answers
echo 'package answers; func Answer() int { return 42 }' > answers/answers.go
cat > main.go <<'END'
package main

import "example.com/app/answers"

func main() {
	done := make(chan int)
	for n := 0; n < 100; n++ { go func() { done <- answers.Answer() }() }
	sum := 0
	for n := 0; n < 100; n++ { sum += <-done }
	if sum == 4200 { println(42) }
}
END
go build -o app . && ./app 2>&1 # no import, no more of the standard library to build
rm -rf /tmp/go /tmp/gopath
`, want: "42\n",
		},
		{
			name: "rust",
			script: `
cat > main.rs <<'END'
use std::{collections::HashMap, fs, sync::mpsc, thread};
fn main() {
    let (to, from) = mpsc::channel();
    for n in 0..4 { let to = to.clone(); thread::spawn(move || to.send(n * 7).unwrap()); }
    drop(to);
    let sum: i32 = from.iter().sum();
    let mut map = HashMap::new(); map.insert("sum", sum);
    fs::write("f", map["sum"].to_string()).unwrap();
    println!("{}", fs::read_to_string("f").unwrap());
}
END
/usr/bin/rustc main.rs && ./main
`, want: "42\n",
		},
		{
			name: "java",
			script: `
cat > Main.java <<'END'
import java.nio.file.*;
import java.security.SecureRandom;
import java.util.concurrent.*;
public class Main {
    public static void main(String[] args) throws Exception {
        ExecutorService pool = Executors.newFixedThreadPool(4);
        int sum = 0;
        Callable<Integer> seven = () -> 7;
        for (Future<Integer> f : pool.invokeAll(java.util.Collections.nCopies(6, seven))) sum += f.get();
        pool.shutdown();
        new SecureRandom().nextInt();
        Files.writeString(Path.of("f"), "" + sum);
        Process child = new ProcessBuilder("cat", "f").start();
        System.out.println(new String(child.getInputStream().readAllBytes()));
    }
}
END
export JAVA_TOOL_OPTIONS="-XX:TieredStopAtLevel=1 -Xshare:auto"
/usr/bin/javac Main.java && /usr/bin/java Main
`, want: "42\n",
		},
		{
			name: "gcc",
			script: `
cat > lib.c <<'END'
int answer(void) { return 42; }
END
cat > main.c <<'END'
#include <dlfcn.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>
static sem_t ready;
static void *work(void *at) { *(int *)at += 1; sem_post(&ready); return NULL; }
int main(void) {
    int n = -1; pthread_t thread; sem_init(&ready, 0, 0);
    if (pthread_create(&thread, NULL, work, &n) || pthread_join(thread, NULL) || sem_wait(&ready)) return 1;
    void *lib = dlopen("./lib.so", RTLD_NOW); if (!lib) return 2;
    int (*answer)(void) = (int (*)(void))dlsym(lib, "answer");
    char path[] = "/tmp/fXXXXXX"; if (mkstemp(path) < 0 || unlink(path)) return 3;
    pid_t pid = vfork(); if (!pid) _exit(0);
    if (waitpid(pid, NULL, 0) != pid || system("exit 3") != 3 << 8) return 4;
    printf("%d\n", answer() + n);
}
END
gcc -g -O2 -shared -fPIC -o lib.so lib.c
gcc -g -O2 -Wall -pthread -flto -o app main.c -ldl
./app
`, want: "42\n",
		},
	}
}

func systemWorks() []work {
	return []work{
		{
			name: "chromium",
			script: `
cat > page.html <<'END'
<p id="a"></p>
<script>
const empty = new WebAssembly.Instance(new WebAssembly.Module(Uint8Array.of(0, 97, 115, 109, 1, 0, 0, 0)));
document.getElementById("a").textContent = Object.keys(empty.exports).length + 6 * 7;
</script>
END
/usr/lib/chromium/chromium --headless --no-sandbox --disable-gpu --user-data-dir="$PWD/profile" \
	--dump-dom "file://$PWD/page.html" 2>log >page || true
grep -o '<p id="a">.*</p>' page || tail -n 50 log >&2
`, want: "<p id=\"a\">42</p>\n",
		},
		{
			name: "git",
			script: `
git config --global user.name me; git config --global user.email me@example.com; git config --global init.defaultBranch main
git init -q one; cd one
echo a > f; git add .; git commit -qm first
git checkout -qb side; echo b >> f; git commit -qam second; git checkout -q main; echo c > g; git add g; git commit -qm third
git merge -q --no-edit side; git gc -q; git stash list; cd ..
git clone -q one two; cd two; git fsck --strict 2>/dev/null
git log --oneline --all | wc -l
`, want: "4\n",
		},
		{
			name: "shell tools",
			script: `
mkdir d; for n in $(seq 50); do echo $n > d/$n; done
tar cz d | tar tz | wc -l >counts
find d -type f -print0 | xargs -0 -n 5 -P 4 cat | sort -n | awk '{ s += $1 } END { print s }' >>counts
timeout 10 sed -n '2p' <(sort -rn d/*) >>counts
(sleep 100 & echo $! > pid); kill "$(cat pid)"
mkfifo fifo; (echo through > fifo &); cat fifo >>counts
ps -o comm= -p $$ >>counts
ln -s d/1 link; cp -a d e; mv e f; chmod 700 f; touch -d yesterday f; rm -rf f; df . >/dev/null; nproc >/dev/null; id -un >>counts
flock lock true; install -m 755 /bin/true t; ./t; truncate -s 1M t; dd if=/dev/zero of=z bs=1k count=10 status=none; sync z
cat counts
`, want: "51\n1275\n49\nthrough\nbash\nuser\n",
		},
	}
}

func debuggerWorks() []work {
	return []work{
		{
			name: "gdb and strace",
			script: `
cat > work.c <<'END'
#include <stdio.h>
static int answer(int n) { return n + 1; }
int main(void) { printf("%d\n", answer(41)); return 0; }
END
gcc -g -O0 -o work work.c
gdb -nx -batch -ex 'break answer' -ex run -ex 'print n' -ex finish ./work >session 2>&1 </dev/null
grep -q '^\$1 = 41$' session; grep -q '^Value returned is \$2 = 42$' session
strace -f -o calls -e trace=write sh -c ./work >/dev/null
grep -o 'write(1, "42\\n", 3)' calls
`, want: "write(1, \"42\\n\", 3)\n",
		},
		{
			name: "debugging",
			script: `
cat > work.py <<'END'
import ctypes, faulthandler, os, signal, subprocess, sys, trace
libc = ctypes.CDLL(None, use_errno=True); libc.ptrace.argtypes = [ctypes.c_long] * 4
child = subprocess.Popen(['sleep', '100'])
def do(request, address=0, data=0):
    if libc.ptrace(request, child.pid, address, data) < 0: raise OSError(ctypes.get_errno(), f'ptrace {request}')
do(16); os.waitpid(child.pid, 0)                                   # attach
open(f'/proc/{child.pid}/maps').read(); os.listdir(f'/proc/{child.pid}/fd'); os.readlink(f'/proc/{child.pid}/exe'); open(f'/proc/{child.pid}/stack' if 0 else f'/proc/{child.pid}/status').read()
address = int(open(f'/proc/{child.pid}/maps').readline().split('-')[0], 16)
with open(f'/proc/{child.pid}/mem', 'rb') as memory:
    memory.seek(address); assert memory.read(4) == b'\x7fELF'
do(17); child.kill(); child.wait()                                 # detach
crash = subprocess.run([sys.executable, '-X', 'faulthandler', '-c', 'import ctypes; ctypes.string_at(0)'], capture_output=True)
assert crash.returncode == -signal.SIGSEGV and b'Segmentation fault' in crash.stderr, crash
pdb = subprocess.run([sys.executable, '-m', 'pdb', '-c', 'next', '-c', 'p n', '-c', 'quit', 'small.py'], capture_output=True, text=True, stdin=subprocess.DEVNULL)
assert '41' in pdb.stdout, pdb
import cProfile; cProfile.run('sum(range(10))', 'profile')
print('done')
END
printf 'n = 41\nn += 1\n' > small.py
/usr/bin/python3 work.py
`, want: "done\n",
		},
	}
}
