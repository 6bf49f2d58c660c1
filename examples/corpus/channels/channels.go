// Package channels leaks by what is in channels, and by channels that are kept.
package channels

import (
	"testing"

	"example.com/corpus/app"
	"example.com/corpus/internal/judge"
)

// Group is the cases of the package.
var Group = judge.Group{Name: "channels", Cases: []judge.Case{
	{Name: "Buffer", Leak: buffered(false), Fixed: buffered(true), Grows: judge.Objects, Culprit: `channels\.audit`},
	{Name: "Subscribers", Leak: subscribers(false), Fixed: subscribers(true), Grows: judge.Objects, Culprit: `channels\.subscriptions`},
	{Name: "OfChannels", Leak: requests(false), Fixed: requests(true), Grows: judge.Objects, Culprit: `channels\.requested`},
	{Name: "Mailboxes", Leak: mailboxes(false), Fixed: mailboxes(true), Grows: judge.Bytes(1000), Culprit: `channels\.mailbox`},
	{Name: "Dead", Leak: deadLetters(false), Fixed: deadLetters(true), Grows: judge.Objects, Culprit: `channels\.(letters|deadLetters)`},

	{Name: "Drained", Healthy: drained, Grows: judge.Objects},
	{Name: "Dropped", Healthy: judge.Op(dropped), Grows: judge.Objects},
	{Name: "Overflowing", Healthy: overflowing, Grows: judge.Objects},
}}

var audit = make(chan *app.Session, 1<<16)

func buffered(fixed bool) judge.Setup {
	return func(t *testing.T) func() {
		t.Cleanup(func() { audit = make(chan *app.Session, 1<<16) })
		return func() {
			audit <- app.NewSession()
			if fixed {
				<-audit
			}
		}
	}
}

var subscriptions = map[chan string]bool{}

func subscribers(fixed bool) judge.Setup {
	return func(t *testing.T) func() {
		t.Cleanup(func() { clear(subscriptions) })
		return func() {
			c := make(chan string, 10)
			subscriptions[c] = true
			close(c)
			if fixed {
				delete(subscriptions, c)
			}
		}
	}
}

type request struct {
	session *app.Session
	reply   chan string
}

var requested = make(chan request, 1<<16)

func requests(fixed bool) judge.Setup {
	return func(t *testing.T) func() {
		t.Cleanup(func() { requested = make(chan request, 1<<16) })
		return func() {
			requested <- request{app.NewSession(), make(chan string, 1)}
			if fixed {
				r := <-requested
				r.reply <- r.session.ID
			}
		}
	}
}

// Each user has a mailbox with room for many letters.
var mailbox = map[string]chan [8]int{}

func mailboxes(fixed bool) judge.Setup {
	return func(t *testing.T) func() {
		t.Cleanup(func() { clear(mailbox) })
		return func() {
			id := app.NewSession().ID
			mailbox[id] = make(chan [8]int, 50)
			if fixed {
				delete(mailbox, id)
			}
		}
	}
}

// deadLetters collects letters that nobody takes.
func deadLetters(fixed bool) judge.Setup {
	return func(t *testing.T) func() {
		in, done := make(chan *app.Session), make(chan bool)
		go letters(in, done, fixed)
		t.Cleanup(func() { close(in) })
		return func() {
			in <- app.NewSession()
			<-done
		}
	}
}

func letters(in chan *app.Session, done chan bool, fixed bool) {
	var dead []*app.Session
	for s := range in {
		if fixed && len(dead) > 10 {
			dead = nil
		}
		dead = append(dead, s)
		done <- true
	}
	for _, s := range dead {
		s.Expire()
	}
}

func drained(*testing.T) func() {
	c := make(chan *app.Session, 50)
	return func() {
		for range cap(c) {
			c <- app.NewSession()
		}
		for range cap(c) {
			<-c
		}
	}
}

// A channel with content is garbage when nobody refers to it, open or closed.
func dropped() {
	c := make(chan *app.Session, 50)
	for range cap(c) {
		c <- app.NewSession()
	}
}

// overflowing drops a session if the channel is full.
func overflowing(*testing.T) func() {
	c := make(chan *app.Session, 16)
	return func() {
		select {
		case c <- app.NewSession():
		default:
		}
	}
}
