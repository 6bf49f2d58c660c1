// Package native leaks memory of C: blocks of malloc.
package native
