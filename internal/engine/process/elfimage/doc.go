// Package elfimage reads the memory of a process that this one did not start from ELF files: a core
// file, with the registers of each thread, and the program file. The program file has what the
// process has loaded without the right to write; its addresses in memory tell whether it is the
// right file. Such processes are of Linux. The package maps files and copies next to nothing.
package elfimage
