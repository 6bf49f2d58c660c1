//go:build asan

package snapshot

const Padded = true
