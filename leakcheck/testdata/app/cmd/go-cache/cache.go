// Package cache has a name that is not the last element of its import path.
package cache

// An Item is kept.
type Item struct{ buf [64]byte }

var items []*Item

// Keep keeps so many items.
func Keep(n int) {
	for range n {
		items = append(items, new(Item))
	}
}

// Last is what was kept last.
func Last() *Item { return items[len(items)-1] }

// Serve runs until it is told to stop.
func Serve(stop <-chan struct{}) { <-stop }
