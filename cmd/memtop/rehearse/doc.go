// Package rehearse runs a command that starts PyTorch on an imitated GPU, and finds out
// whether it fits, what it needs, which changes would make it fit, and the largest value
// of something with which it does. It joins the imitation of CUDA with the agent that
// PyTorch programs have; what was found, package report prints. It reads no command line.
package rehearse
