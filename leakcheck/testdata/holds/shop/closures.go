package shop

var (
	Hooks   map[int]func()
	OnClose []func()
)

// Touch returns a function that uses a server.
func Touch(srv *Server) func() { return func() { srv.Name += "." } }

// Finish returns a function that uses a session.
func Finish(s *Session) func() { return func() { s.ID++ } }

func resetClosures() { Hooks, OnClose = map[int]func(){}, nil }
