// Package cache has a name that is not the last element of its import path.
package cache

var Items []*int
