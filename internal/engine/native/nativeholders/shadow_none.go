//go:build !race || !linux || !amd64

package nativeholders

const shadowStart, shadowEnd = 0, 0
