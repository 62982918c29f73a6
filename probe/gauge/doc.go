// Package gauge asks NVIDIA's driver what it knows of the devices that a program
// uses: how much memory they have, which processes use it, how busy and how hot
// they are.
//
// The viewer asks, not the program. Training then pays nothing for it, and a job
// in a container that has no management library is still measured from the machine
// it runs on. A program whose device is none of the driver's, such as memory of the
// host, sends gauges of its own through its probe.
//
// With cgo the driver's library is read, without it nvidia-smi. Where there is
// neither, [Open] says so.
package gauge
