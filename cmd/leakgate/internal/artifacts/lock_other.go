//go:build !unix

package artifacts

import "os"

// lock lets everybody in: assertions are made on Linux only.
func lock(*os.File) bool { return true }
