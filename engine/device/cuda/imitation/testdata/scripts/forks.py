"""A process forks while its other threads are in the library; the forks use it too."""

import ctypes
import os
import signal
import threading

runtime = ctypes.CDLL(None)
SIZE = 4 << 20


def use():
    address, bytes_there = ctypes.c_void_p(), (ctypes.c_char * 16)()
    assert runtime.cudaMalloc(ctypes.byref(address), ctypes.c_size_t(SIZE)) == 0
    assert runtime.cudaMemcpy(address, b"as it was there", ctypes.c_size_t(16), 1) == 0
    assert runtime.cudaMemcpy(bytes_there, address, ctypes.c_size_t(16), 2) == 0
    assert runtime.cudaFree(address) == 0
    assert bytes_there.value == b"as it was there"


def churn(stop):
    while not stop.is_set():
        use()


def forked():
    child = os.fork()
    if child == 0:
        signal.alarm(10)  # who waits for a lock that nobody holds is ended
        use()
        os._exit(0)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


stop = threading.Event()
threads = [threading.Thread(target=churn, args=(stop,), daemon=True) for _ in range(3)]
for thread in threads:
    thread.start()
ended = [forked() for _ in range(200)]
stop.set()
for thread in threads:
    thread.join()
assert ended == [0] * 200, ended
free, total = ctypes.c_size_t(), ctypes.c_size_t()
assert runtime.cudaMemGetInfo(ctypes.byref(free), ctypes.byref(total)) == 0
print("forks", len(ended), "free", free.value, "of", total.value)
