// Package collected has objects that are dropped, and some that are not.
package collected

type Session struct {
	id  string
	buf []byte
}

type conn struct {
	next    *conn
	session *Session
}

type server struct {
	sessions map[string]*Session
	latest   map[string]*Session
	conns    *conn
}

var (
	srv  = &server{sessions: map[string]*Session{}, latest: map[string]*Session{}}
	quit = make(chan struct{})
)

//go:noinline
func Login(id string) *Session {
	s := &Session{id: id, buf: make([]byte, 1000)}
	srv.sessions[id] = s
	return s
}

func (s *Session) Logout() { delete(srv.sessions, s.id) }

func (s *Session) Close() {}

func (s *Session) remember() { srv.latest[s.id] = s }

func (s *Session) connect(n int) {
	srv.conns = &conn{session: s}
	for range n {
		srv.conns = &conn{next: srv.conns}
	}
}

func (s *Session) watch() {
	go func() {
		<-quit
		s.Close()
		println(s.id)
	}()
}
