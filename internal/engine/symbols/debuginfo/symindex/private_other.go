//go:build !unix

package symindex

import "io/fs"

const privateFlags = 0

// writableByOthers returns "": on this system a file's mode does not tell its permissions.
func writableByOthers(fs.FileInfo) string { return "" }
