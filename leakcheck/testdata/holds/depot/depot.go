// Package depot is another package that holds sessions.
package depot

import "example.com/holds/shop"

var (
	Shelf  []*shop.Session // meant to have them
	Last   *shop.Session
	Cellar *shop.Server
)

// Reset brings all variables back to what they were.
func Reset() { Shelf, Last, Cellar = nil, nil, nil }
