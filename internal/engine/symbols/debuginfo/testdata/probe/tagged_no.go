//go:build !special

package probe

const tagged = false
