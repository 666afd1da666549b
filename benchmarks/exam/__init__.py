"""Three stories with exams: how many questions about a story's end can a view still answer?"""
