package shop

import "time"

// run starts a goroutine; the result stops it and waits for its end.
func run(f func(stop <-chan struct{})) func() {
	stop, ended := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(ended)
		f(stop)
	}()
	return func() { close(stop); <-ended }
}

// Serve starts a goroutine that is at work with a session.
func Serve(s *Session) (stop func()) {
	ready := make(chan struct{})
	end := run(func(stop <-chan struct{}) { serve(s, ready, stop) })
	<-ready
	return end
}

//go:noinline // for the name of its variable
func serve(s *Session, ready chan<- struct{}, stop <-chan struct{}) {
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	close(ready)
	for {
		select {
		case <-tick.C:
			s.ID++
		case <-stop:
			s.Expire()
			return
		}
	}
}

// Own starts a goroutine that owns a server, which sessions get from it.
func Own() (join func(*Session), stop func()) {
	joining := make(chan *Session)
	end := run(func(stop <-chan struct{}) { own(joining, stop) })
	return func(s *Session) { joining <- s; <-joining }, end
}

func own(joining chan *Session, stop <-chan struct{}) {
	srv := NewServer()
	for {
		select {
		case s := <-joining:
			s.Srv = srv
			joining <- nil
		case <-stop:
			srv.OnClose()
			return
		}
	}
}

// Work starts a goroutine with a map of its own, from which nothing is deleted.
func Work() (send func(*Session), stop func()) {
	in := make(chan *Session)
	end := run(func(stop <-chan struct{}) { work(in, stop, map[int]*Session{}) })
	return func(s *Session) { in <- s; <-in }, end
}

//go:noinline // for the name of its variable
func work(in chan *Session, stop <-chan struct{}, pending map[int]*Session) {
	for {
		select {
		case s := <-in:
			pending[s.ID] = s
			in <- nil
		case <-stop:
			clear(pending)
			return
		}
	}
}
