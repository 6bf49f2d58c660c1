//go:build !race

package snapshot

const shadowShare = 0
