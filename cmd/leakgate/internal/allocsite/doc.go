// Package allocsite reads Go executables, so that package alloccode can tell what their calls
// allocate.
package allocsite
