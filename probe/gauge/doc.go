// Package gauge asks NVIDIA's driver what it knows of the devices that a
// program uses: how much memory there is, who has it, how busy and how hot they
// are.
//
// The viewer asks, not the program. Training then pays nothing for it, a
// program without cgo needs none, and a job in a container that has no
// management library is still measured from the machine it runs on. A program
// whose device is none of the driver's, such as memory of the host, sends
// gauges of its own through its probe.
//
// Where there is no driver, no library or no cgo, [Open] says which.
package gauge
