// Command service tells its clients what happens, for as long as they listen.
package main

import (
	"fmt"
	"log"
	"net"
	"net/http"
	"os"
	"sync"
)

// A hub passes events on to those who listen.
type hub struct {
	mu        sync.Mutex
	listeners map[chan string]bool
}

var events = &hub{listeners: make(map[chan string]bool)}

func (h *hub) subscribe() chan string {
	h.mu.Lock()
	defer h.mu.Unlock()
	c := make(chan string, 16)
	h.listeners[c] = true
	return c
}

func (h *hub) unsubscribe(c chan string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	delete(h.listeners, c)
}

func (h *hub) publish(event string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for c := range h.listeners {
		select {
		case c <- event:
		default: // it does not read
		}
	}
}

// listen sends events until the client goes away.
func listen(w http.ResponseWriter, r *http.Request) {
	c := events.subscribe()
	w.Header().Set("Content-Type", "text/event-stream")
	fmt.Fprint(w, "event: hello\n\n")
	w.(http.Flusher).Flush()
	for {
		select {
		case event := <-c:
			fmt.Fprintf(w, "data: %s\n\n", event)
			w.(http.Flusher).Flush()
		case <-r.Context().Done():
			return
		}
	}
}

func tell(_ http.ResponseWriter, r *http.Request) { events.publish(r.FormValue("event")) }

func main() {
	http.HandleFunc("GET /events", listen)
	http.HandleFunc("POST /events", tell)
	http.HandleFunc("GET /healthz", func(http.ResponseWriter, *http.Request) {})
	address := "localhost:8080"
	if len(os.Args) > 1 {
		address = os.Args[1]
	}
	l, err := net.Listen("tcp", address)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(l.Addr())
	log.Fatal(http.Serve(l, nil))
}
