// Package pprof compares the encoder and the decoder of profiles with
// github.com/google/pprof/profile.
package pprof
