// Command dns answers each question with nothing, over TCP.
package main

import (
	"fmt"
	"log"
	"net"

	"github.com/miekg/dns"
)

func main() {
	l, err := net.Listen("tcp", "localhost:0")
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(l.Addr())
	server := &dns.Server{Listener: l, Handler: dns.HandlerFunc(func(w dns.ResponseWriter, question *dns.Msg) {
		answer := new(dns.Msg)
		answer.SetReply(question)
		if err := w.WriteMsg(answer); err != nil {
			log.Print(err)
		}
	})}
	log.Fatal(server.ActivateAndServe())
}
