// Package filelock has locks between processes. A lock ends with the process that holds it, so it
// tells whether the process that made a temporary file or folder still lives.
package filelock
