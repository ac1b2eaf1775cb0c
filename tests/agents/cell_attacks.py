"""What an agent's program might try, one text in Python for each line of the table of guards.

Each runs inside a cell with ``aim`` (what there is to attack) in its arguments and prints one JSON value.
"""

from __future__ import annotations

PRELUDE = """
import json, os, sys, time
aim = json.loads(sys.argv[1])
def tell(value):
    print(json.dumps(value), flush=True)
def refused(*attempts):
    held = []
    for attempt in attempts:
        try:
            attempt()
        except (OSError, ImportError):
            held.append(True)
        else:
            held.append(False)
    tell(held)
def opened(path, mode="rb"):
    with open(path, mode) as file:
        if "r" in mode:
            file.read(1)
"""

READ = """
os.symlink(aim["secret"], "tmp/link")
refused(
    lambda: opened("/etc/passwd"),
    lambda: opened(aim["secret"]),
    lambda: opened("tmp/link"),
    lambda: os.listdir(os.path.dirname(aim["secret"])),
)
"""

OTHER_SIDE = """
refused(lambda: opened(aim["other"]), lambda: os.listdir(os.path.dirname(aim["other"])))
"""

WRITE = """
import shutil
refused(
    lambda: opened(aim["secret"] + ".new", "wb"),
    lambda: opened(aim["secret"], "ab"),
    lambda: os.chmod(aim["secret"], 0o600),
    lambda: os.utime(aim["secret"], (1, 1)),
    lambda: os.truncate(aim["secret"], 0),
    lambda: os.setxattr(aim["secret"], "user.mark", b"x"),
    lambda: os.rename(aim["secret"], aim["secret"] + ".moved"),
    lambda: os.unlink(aim["secret"]),
    lambda: os.mkdir(os.path.dirname(aim["secret"]) + "/made"),
)
"""

EVIDENCE = """
refused(
    lambda: opened("delivery/note.txt", "wb"),
    lambda: os.chmod("delivery/note.txt", 0o600),
    lambda: os.unlink("delivery/note.txt"),
    lambda: os.rename("delivery", "tmp/delivery"),
    lambda: opened("delivery/new.txt", "wb"),
    lambda: os.close(os.open("delivery/note.txt", os.O_RDONLY | os.O_TRUNC)),
)
"""

NAMES = 'refused(lambda: os.stat(aim["secret"]))'

ENVIRONMENT = """
def look():
    found = [aim["canary"] in "".join(os.environ.values())]
    for name in [*map(str, aim["pids"]), "self", "1", str(os.getppid())]:
        try:
            with open(f"/proc/{name}/environ") as file:
                found.append(aim["canary"] in file.read())
        except OSError:
            found.append(False)
    return found
tell(not any(look()))
"""

DESCRIPTORS = """
found = []
for number in range(3, 256):
    try:
        os.fstat(number)
    except OSError:
        continue
    found.append(number)
tell(found)
"""

SOCKETS = """
import socket
def tcp():
    with socket.socket() as tried:
        tried.settimeout(2)
        tried.connect(("127.0.0.1", aim["tcp"]))
def udp():
    with socket.socket(type=socket.SOCK_DGRAM) as tried:
        tried.sendto(b"out", ("127.0.0.1", aim["udp"]))
def netlink():
    socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, 0).close()
def local():
    with socket.socket(socket.AF_UNIX) as tried:
        tried.connect(aim["local"])
def abstract():
    with socket.socket(socket.AF_UNIX) as tried:
        tried.connect(aim["abstract"])
def pair():
    one, other = socket.socketpair(socket.AF_UNIX, socket.SOCK_DGRAM)
    one.sendto(b"out", aim["datagrams"])
def six():
    socket.socket(socket.AF_INET6, socket.SOCK_DGRAM).close()
def packet():
    socket.socket(socket.AF_PACKET, socket.SOCK_RAW).close()
def bluetooth_and_such():
    for family in range(3, 46):
        try:
            socket.socket(family, socket.SOCK_RAW).close()
        except OSError:
            continue
        return
    raise OSError
refused(tcp, udp, netlink, local, abstract, pair, six, packet, bluetooth_and_such)
"""

INNER_PAIR = """
import socket
one, other = socket.socketpair()
one.send(b"inside")
tell(other.recv(10).decode())
"""

SIGNALS = """
import fcntl, signal
def owner():
    reader, writer = os.pipe()
    fcntl.fcntl(reader, fcntl.F_SETOWN, aim["victim"])
    fcntl.fcntl(reader, fcntl.F_SETFL, os.O_ASYNC | os.O_NONBLOCK)
    os.write(writer, b"x")
    raise OSError  # whether the victim lives, is looked at from outside
def limit():
    import resource
    resource.prlimit(aim["victim"], resource.RLIMIT_CPU, (0, 0))
refused(lambda: os.kill(aim["victim"], 0), lambda: os.kill(aim["victim"], signal.SIGTERM), owner, limit)
"""

OWN_CHILD = """
import signal
child = os.fork()
if child == 0:
    time.sleep(5)
    os._exit(0)
try:
    os.kill(child, signal.SIGKILL)
except OSError:
    tell(False)
else:
    tell(os.waitpid(child, 0)[1] == signal.SIGKILL)
"""

NAMESPACES = """
import ctypes
libc = ctypes.CDLL(None, use_errno=True)
def called(name, *arguments):
    if getattr(libc, name)(*arguments) < 0:
        raise OSError(ctypes.get_errno(), name)
refused(
    lambda: called("unshare", 0x10000000),
    lambda: called("unshare", 0x40000000),
    lambda: called("mount", b"none", b"tmp", b"tmpfs", 0, None),
    lambda: called("ptrace", 16, aim["victim"], None, None),
    lambda: called("chroot", b"tmp"),
    lambda: called("setsid"),
    lambda: called("syscall", 425, 1, ctypes.create_string_buffer(256)),
)
"""

COUNT = """
reader, writer = os.pipe()
made = 0
try:
    while made < 200:
        if os.fork() == 0:
            os.close(writer)
            os.read(reader, 1)
            os._exit(0)
        made += 1
except OSError:
    pass
os.close(writer)
for _ in range(made):
    os.wait()
tell(made + 1)
"""

BOMB = """
tell("begun")
while True:
    try:
        os.fork()
    except OSError:
        pass
"""

MEMORY = """
held, block = [], 8 << 20
try:
    while len(held) * block < aim["memory"] * 4:
        held.append(bytearray(block))
except MemoryError:
    count = len(held)
    held.clear()
    tell(count * block)
else:
    tell(-1)
"""

MEMORY_TOGETHER = """
import mmap
for _ in range(11):
    if os.fork() == 0:
        break
held = mmap.mmap(-1, 32 << 20)
for at in range(0, 32 << 20, 4096):
    held[at] = 1
time.sleep(20)
"""

CPU = """
while True:
    pass
"""

WALL = """
tell("begun")
time.sleep(60)
"""

FILE_SIZE = """
written = 0
try:
    with open("tmp/long", "wb", buffering=0) as file:
        while written < aim["file"] * 4:
            written += file.write(b"x" * 65536)
except OSError:
    pass
tell(written)
"""

DISK = """
block, number = b"x" * (256 << 10), 0
try:
    while number * len(block) < aim["disk"] * 20:
        with open(f"tmp/{number}", "wb", buffering=0) as file:
            if file.write(block) < len(block):
                break
        number += 1
        time.sleep(0.01)
except OSError:
    pass
tell(number * len(block))
"""

DELETED = """
block, held = b"x" * (256 << 10), []
try:
    while len(held) * len(block) < aim["disk"] * 3:
        held.append(open(f"tmp/{len(held)}", "wb", buffering=0))
        os.unlink(held[-1].name)
        if held[-1].write(block) < len(block):
            break
except OSError:
    pass
time.sleep(0.3)
tell(len(held) * len(block))
"""

FILES = """
number = 0
try:
    while number < 50_000:
        os.close(os.open(f"tmp/{number}", os.O_CREAT | os.O_WRONLY))
        number += 1
        time.sleep(0.0001)
    time.sleep(20)
except OSError:
    pass
tell(number)
"""

OUTPUT = """
block = b"x" * (1 << 20)
for _ in range(aim["megabytes"]):
    os.write(1, block)
    os.write(2, block[:65536])
"""

LEFTOVERS = """
if os.fork() == 0:
    try:
        os.setsid()
    except OSError:
        pass
    if os.fork() == 0:
        time.sleep(30)
    os._exit(0)
os.wait()
tell("gone")
"""
