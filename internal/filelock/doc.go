// Package filelock has locks between processes that end with the process that holds them. So a lock
// tells whether whoever made a temporary file or folder still lives.
package filelock
