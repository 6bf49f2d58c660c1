// Package starts has functions that start goroutines, and functions that call those.
package starts

import (
	"context"
	"iter"
	"sync"
	"time"

	"example.com/app/starts/inner"
)

// No goroutine starts in these functions. The comment behind each names one in which it does.

type Pool struct {
	once sync.Once
	stop chan int
}

func (p *Pool) Start() { p.spawn() } // spawn

//go:noinline
func (p *Pool) Restart() { // spawn
	p.Start()
}

type Backend struct{ stop chan int }

func (b *Backend) Ready() bool { // Watch
	b.probe()
	return true
}

func (b *Backend) probe() { inner.Watch(b.stop) } // Watch

type Client struct{ pool *Pool }

//go:noinline
func (c *Client) Send(n int) int { // spawn
	if c.pool == nil {
		c.pool = &Pool{stop: make(chan int)}
		c.connect()
	}
	return n + 1
}

//go:noinline
func (c *Client) connect() { // spawn
	c.pool.Restart()
}

func (p *Pool) Get() { // spawn
	p.once.Do(p.spawn)
}

func (p *Pool) Peek() { // spawn
	p.once.Do(func() { p.spawn() })
}

func Hook(p *Pool) { // spawn
	f := func() { p.spawn() }
	f()
	f()
}

func Deferred(p *Pool) { // spawn
	defer p.spawn()
}

func Value(p *Pool) { // spawn
	f := p.spawn
	f()
}

func Latest(p *Pool) int { // spawn
	n := 0
	for range 2 {
		n += step(p)
	}
	return n
}

//go:noinline
func step(p *Pool) int { // spawn
	p.Start()
	return 1
}

// Nothing is known of what these call.

type starter interface{ Start() }

type engine struct{}

func (engine) Start() {}

//go:noinline
func Open(s starter) { // -
	s.Start()
}

//go:noinline
func Sum(a, b int) int { return a + b } // -

// Goroutines may start in these functions, or may be created by them.

//go:noinline
func (p *Pool) spawn() { go p.run(1) }

//go:noinline
func (p *Pool) run(int) { <-p.stop }

var gate = make(chan int)

func Serve() { go serve() }

//go:noinline
func serve() { <-gate }

func Tick(c chan int) { go tick(c, 1) }

func tick(c chan int, n int) { c <- n }

func Literal(c chan int) {
	go func() { <-c }()
}

func Grouped(c chan int) {
	var wg sync.WaitGroup
	wg.Go(func() { <-c })
	wg.Wait()
}

func Own(g *inner.Group, c chan int) {
	g.Go(func() { <-c })
}

func Alarm(c chan int) {
	time.AfterFunc(time.Millisecond, func() { c <- 1 })
}

func Done(ctx context.Context, c chan int) {
	context.AfterFunc(ctx, func() { c <- 1 })
}

type Job struct{ c chan int }

//go:noinline
func (j *Job) Do() { <-j.c }

func (j *Job) Submit(g *inner.Group) { g.Go(j.Do) } // Go

type runner interface{ Run() }

type Task struct{ c chan int }

//go:noinline
func (t *Task) Run() { <-t.c }

func Run(r runner) { go r.Run() }

var handlers = map[string]func(){"a": handleA}

//go:noinline
func handleA() { <-gate }

func Handle(name string) { go handlers[name]() }

func Generic[T any](c chan T) {
	go func() { <-c }()
}

func Given(f func()) { go f() }

//go:noinline
func given() { <-gate }

//go:noinline
func Count(yield func(int) bool) {
	for i := 0; yield(i); i++ {
	}
}

func Pulled() int { // iter.Pull[go.shape.int]
	next, stop := iter.Pull(Count)
	defer stop()
	n, _ := next()
	return n
}

func Late(c chan int) {
	defer func() {
		go func() { <-c }()
	}()
}

type Base struct{ c chan int }

//go:noinline
func (b *Base) Loop() { <-b.c }

type Outer struct {
	n int
	Base
}

func (o *Outer) Begin() { go o.Loop() }

// Feed returns a closure, which others may start.
//
//go:noinline
func Feed(last int) iter.Seq[int] {
	return func(yield func(int) bool) {
		for i := range last {
			if !yield(i) {
				return
			}
		}
	}
}

// Ones does so, too, and its closure has nothing of its own.
//
//go:noinline
func Ones() iter.Seq[int] {
	return func(yield func(int) bool) {
		for yield(1) {
		}
	}
}

func Use() {
	c := make(chan int, 100)
	close(gate)
	p := &Pool{stop: c}
	close(c)
	p.Start()
	p.Restart()
	(&Backend{stop: c}).Ready()
	(&Client{pool: p}).Send(1)
	p.Get()
	p.Peek()
	Hook(p)
	Deferred(p)
	Value(p)
	Latest(p)
	Open(engine{})
	Sum(1, 2)
	Serve()
	Tick(make(chan int, 1))
	Literal(c)
	Grouped(c)
	Own(new(inner.Group), c)
	Alarm(make(chan int, 1))
	ctx, cancel := context.WithCancel(context.Background())
	Done(ctx, make(chan int, 1))
	cancel()
	(&Job{c}).Submit(new(inner.Group))
	Run(&Task{c})
	Handle("a")
	Generic(c)
	Given(given)
	Pulled()
	Late(c)
	(&Outer{Base: Base{c}}).Begin()
	for _, seq := range []iter.Seq[int]{Feed(2), Ones()} {
		next, stop := iter.Pull(seq)
		next()
		stop()
	}
}
