//go:build !unix

package procfs

import "os"

// Read reads a file; there is no /proc on this system.
func Read(name string, _ []byte) ([]byte, error) { return os.ReadFile(name) }
