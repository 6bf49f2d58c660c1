// Package pprof judges the encoder and the decoder of profiles by github.com/google/pprof/profile.
package pprof
