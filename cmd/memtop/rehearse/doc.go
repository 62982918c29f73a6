// Package rehearse runs a command that starts PyTorch on an imitated GPU. It
// finds out whether the command fits, how much memory it needs, which changes
// would make it fit, and the largest value of a parameter with which it fits. It
// joins the imitation of CUDA with memtop's agent for PyTorch programs. It reads
// no command line, and package report prints the results.
package rehearse
