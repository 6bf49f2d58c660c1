// Package workers has goroutines to count.
package workers

import "sync"

// A Pool is some goroutines that wait for jobs.
type Pool struct {
	jobs chan int
	done sync.WaitGroup
}

// New starts n workers.
func New(n int) *Pool {
	p := &Pool{jobs: make(chan int)}
	for i := range n {
		p.done.Add(1)
		go p.work(i)
	}
	return p
}

// Close ends them.
func (p *Pool) Close() {
	close(p.jobs)
	p.done.Wait()
}

func (p *Pool) work(int) {
	defer p.done.Done()
	p.handle()
}

// Query starts a goroutine that nobody hears out.
func Query() {
	answers := make(chan []byte)
	go func() { answers <- make([]byte, 100<<10) }()
}
