//go:build linux && (amd64 || arm64)

package refscan

const supported = true
