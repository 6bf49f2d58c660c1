// Package shop is the program whose memory the tests of holds bound: package variables of many
// kinds, one file a kind, with sessions in them that may leak, and servers that may be shared.
package shop

import (
	"context"
	"log"
)

// A Session is what leaks: it has a buffer of its own, and may point at memory that it shares.
type Session struct {
	ID    int
	Buf   []byte
	Next  *Session // of an intrusive list
	Srv   *Server
	Store *Store
	Ctx   context.Context
	Log   *log.Logger
	Conf  *Settings
	Owner any
}

// NewSession makes a session of two objects, 512 bytes of them the buffer.
func NewSession(id int) *Session { return &Session{ID: id, Buf: make([]byte, 512)} }

// Expire is for timers and hooks.
func (s *Session) Expire() { s.ID = -1 }

// Handle makes a Handler and a Listener of a session.
func (s *Session) Handle() { s.ID++ }

// A Server is what sessions share: 1,000 blobs.
type Server struct {
	Name     string
	Sessions map[int]*Session
	Cache    map[int]*Session
	Blobs    [][]byte
	Store    *Store
}

// NewServer makes a server of more than 1,000 objects.
func NewServer() *Server {
	srv := &Server{Sessions: map[int]*Session{}, Cache: map[int]*Session{}}
	for range 1000 {
		srv.Blobs = append(srv.Blobs, make([]byte, 64))
	}
	return srv
}

// OnClose is for hooks.
func (srv *Server) OnClose() { srv.Name = "closed" }

// A Store is a layer between a server and its sessions.
type Store struct{ Sessions map[int]*Session }

// NewStore makes an empty store.
func NewStore() *Store { return &Store{Sessions: map[int]*Session{}} }

// Reset brings all variables back to what they were.
func Reset() {
	for _, reset := range []func(){
		resetVariables, resetMaps, resetSlices, resetChannels, resetContainers, resetLists, resetTrees, resetClosures,
		resetInterfaces, resetGenerics, resetTimers, resetFinalizers, resetPools, resetContexts, resetLoggers, resetFlags,
		resetTemplates, resetDatabases, resetWeb,
	} {
		reset()
	}
}

func init() { Reset() }
