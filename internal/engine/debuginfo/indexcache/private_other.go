//go:build !unix

package indexcache

import "io/fs"

const privateFlags = 0

// writableByOthers finds nobody where permissions are not those of a file's mode.
func writableByOthers(fs.FileInfo) string { return "" }
