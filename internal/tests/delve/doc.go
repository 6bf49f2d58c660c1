// Package delve judges what we know of a process's variables by a debugger.
package delve
