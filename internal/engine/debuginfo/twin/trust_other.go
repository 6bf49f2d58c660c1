//go:build !unix

package twin

import "io/fs"

const noWait = 0

// asTrusted takes the word of the folder where permissions are not those of a file's mode.
func asTrusted(_, _ fs.FileInfo) bool { return true }
