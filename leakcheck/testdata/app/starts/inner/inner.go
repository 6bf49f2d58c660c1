// Package inner starts goroutines for others.
package inner

// Watch starts a goroutine.
func Watch(stop chan int) {
	go func() { <-stop }()
}

// A Group starts a goroutine for each function.
type Group struct{ n int }

// Go starts one.
func (g *Group) Go(f func()) {
	g.n++
	go f()
}
