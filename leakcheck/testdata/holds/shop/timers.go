package shop

import "time"

var Deadlines map[int]*time.Timer

// ExpireLater expires a session in an hour.
func ExpireLater(s *Session) *time.Timer { return time.AfterFunc(time.Hour, s.Expire) }

// CloseLater closes a server in an hour.
func CloseLater(srv *Server) *time.Timer { return time.AfterFunc(time.Hour, srv.OnClose) }

func resetTimers() {
	for _, t := range Deadlines {
		t.Stop()
	}
	Deadlines = map[int]*time.Timer{}
}
