// Package whole keeps what it is given.
package whole

type item struct{ next *item }

var items []*item

// Add adds n items.
func Add(n int) {
	for range n {
		items = append(items, &item{})
	}
}
