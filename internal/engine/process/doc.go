// Package process is the wing that gets hold of a process's memory: this process by a fork (freeze)
// or by a copy in place (inplace), another one that runs (attach), or a core dump (corefile). Out
// comes an image.
//
// It uses memory, symbols and runtime.
package process
