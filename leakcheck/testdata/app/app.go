// Package app is what the end-to-end test of leakcheck checks: a server that keeps its sessions.
package app

// A Session is what a user's login makes.
type Session struct {
	ID   string
	Data map[string]string
	buf  []byte
}

var sessions = map[string]*Session{}

//go:noinline
func newSession(id string) *Session {
	return &Session{ID: id, Data: map[string]string{"user": id}, buf: make([]byte, 4096)}
}

// Login makes a session and registers it.
func Login(id string) *Session {
	s := newSession(id)
	sessions[id] = s
	return s
}

// Logout ends a session.
func (s *Session) Logout() { delete(sessions, s.ID) }

// A Pool works on sessions in a goroutine.
type Pool struct {
	jobs chan *Session
	stop chan bool
}

// NewPool starts a pool.
func NewPool() *Pool {
	p := &Pool{make(chan *Session, 4), make(chan bool)}
	go p.run()
	return p
}

func (p *Pool) run() {
	held := <-p.jobs
	<-p.stop
	held.buf[0]++
}
