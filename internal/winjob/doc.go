// Package winjob keeps a process of Windows and all that it starts together, as a process group
// does elsewhere, by a job object. On other systems it is empty.
package winjob
