//go:build !amd64

package nativeholders

const threadLocalBelow = false
