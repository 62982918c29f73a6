"""The link to memtop's host, a process outside of the program: what is said, the bounded queue of it, and the socket.

Nothing here touches the program: one thread of ours sends and answers."""
