class RunnableAuthor: pass
