package shop

import (
	"fmt"
	"net/http"
)

// NewMux makes a mux of 200 routes.
func NewMux() *http.ServeMux {
	mux := http.NewServeMux()
	for i := range 200 {
		mux.HandleFunc(fmt.Sprint("/route/", i), func(http.ResponseWriter, *http.Request) {})
	}
	return mux
}

// NewWeb makes a server with such a mux.
func NewWeb() *http.Server { return &http.Server{Addr: ":0", Handler: NewMux()} }

// An Endpoint is part of a server.
type Endpoint struct {
	Path   string
	Server *http.Server
	Mux    *http.ServeMux
}

var (
	Web       *http.Server
	Endpoints []*Endpoint
	Listening map[string]*http.Server
)

func resetWeb() { Web, Endpoints, Listening = nil, nil, map[string]*http.Server{} }
